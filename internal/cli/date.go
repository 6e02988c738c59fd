package cli

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"parapet/internal/op"
)

// errDate is the error for text that is not a date.
var errDate = errors.New("must be a date such as 2026-12-31, today, tomorrow, friday, +3d or +2w")

// parseDate parses a date as people write it. now is the current time in the time zone of
// the user. A weekday is the next such day after today.
func parseDate(text string, now time.Time) (op.Date, error) {
	text = strings.ToLower(strings.TrimSpace(text))
	today := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC)
	switch text {
	case "today":
		return dateOf(today)
	case "tomorrow":
		return dateOf(today.AddDate(0, 0, 1))
	case "yesterday":
		return dateOf(today.AddDate(0, 0, -1))
	}
	if day, ok := weekdayOf(text); ok {
		return dateOf(today.AddDate(0, 0, (int(day)-int(now.Weekday())+6)%7+1))
	}
	if days, ok := dayDistance(text); ok {
		return dateOf(today.AddDate(0, 0, days))
	}
	date, err := op.ParseDate(strings.ToUpper(text))
	if err != nil {
		return "", errDate
	}
	return date, nil
}

// dateOf returns the date of a day. The API knows the years 1 to 9999.
func dateOf(day time.Time) (op.Date, error) {
	if day.Year() < 1 || day.Year() > 9999 {
		return "", errDate
	}
	return op.Date(day.Format(time.DateOnly)), nil
}

// weekdayOf parses the name of a weekday or its first three letters, in lower case.
func weekdayOf(text string) (time.Weekday, bool) {
	for day := time.Sunday; day <= time.Saturday; day++ {
		name := strings.ToLower(day.String())
		if text == name || text == name[:3] {
			return day, true
		}
	}
	return 0, false
}

// dayDistance parses a number of days or weeks with a sign, such as +3d, -1w or +2w.
func dayDistance(text string) (days int, ok bool) {
	if len(text) < 3 || (text[0] != '+' && text[0] != '-') {
		return 0, false
	}
	factor := map[byte]int{'d': 1, 'w': 7}[text[len(text)-1]]
	n, err := strconv.ParseUint(text[1:len(text)-1], 10, 16)
	if factor == 0 || err != nil {
		return 0, false
	}
	days = int(n) * factor
	if text[0] == '-' {
		days = -days
	}
	return days, true
}
