# Completion of pt for bash. It needs no other package.

# _pt_split sets words to the words up to the cursor, with their quotes. Bash also splits
# words at characters such as @ and =, so words without space between them are joined.
_pt_split() {
  local rest=${COMP_LINE:0:COMP_POINT} i trimmed token
  words=()
  for ((i = 0; i <= COMP_CWORD; i++)); do
    trimmed=${rest#"${rest%%[![:space:]]*}"}
    token=${COMP_WORDS[i]}
    ((i == COMP_CWORD)) && token=$trimmed
    if ((i > 0)) && [[ $trimmed == "$rest" ]]; then
      words[${#words[@]} - 1]+=$token
    else
      words+=("$token")
    fi
    rest=${trimmed#"$token"}
  done
}

# _pt_unquote sets word to its argument without quotes and backslashes, quote to the quote
# that is still open, and kept to the number of characters of word that Bash does not replace.
# Bash replaces what follows the last unquoted = or :, or the last unquoted @ and what follows.
_pt_unquote() {
  local text=$1 i c
  word='' quote='' kept=0
  for ((i = 0; i < ${#text}; i++)); do
    c=${text:i:1}
    if [[ $quote == "'" && $c != "'" ]]; then
      word+=$c
    elif [[ $c == "\\" ]]; then
      ((i++))
      word+=${text:i:1}
    elif [[ -n $quote && $c == "$quote" ]]; then
      quote=''
    elif [[ -z $quote && ($c == '"' || $c == "'") ]]; then
      quote=$c
    else
      [[ $c == @ && $COMP_WORDBREAKS == *@* ]] && kept=${#word}
      word+=$c
      [[ $c == [=:] && $COMP_WORDBREAKS == *"$c"* ]] && kept=${#word}
    fi
  done
}

_pt() {
  local words word quote kept i line value about directive flag='' seen=$'\n' show=() values=() lines=() request=()
  COMPREPLY=()
  _pt_split
  for ((i = 1; i < ${#words[@]}; i++)); do
    _pt_unquote "${words[i]}"
    request+=("$word")
  done
  while IFS= read -r line; do lines+=("$line"); done < <(pt __complete "${request[@]}" 2>/dev/null)
  ((${#lines[@]})) || return
  directive=${lines[${#lines[@]} - 1]#:}
  unset "lines[${#lines[@]} - 1]"
  ((directive & 1)) && return
  if ((directive & 8)); then
    compopt -o filenames 2>/dev/null
    for line in "${lines[@]}"; do
      while IFS= read -r value; do COMPREPLY+=("$value"); done < <(compgen -f -X "!*.$line" -- "$word")
    done
    while IFS= read -r value; do COMPREPLY+=("$value"); done < <(compgen -d -- "$word")
    return
  fi
  ((directive & 2)) && compopt -o nospace 2>/dev/null
  ((directive & 32)) && compopt -o nosort 2>/dev/null
  [[ -z $quote && $word == -*=* ]] && flag=${word%%=*}=
  for line in "${lines[@]}"; do
    value=${line%%$'\t'*} about=
    [[ $line == *$'\t'* ]] && about=${line#*$'\t'}
    ((${#about} > 60)) && about=${about:0:59}…
    case $quote in
      '"') [[ $value == *[\"\$\`\\!]* ]] && continue ;;
      "'") [[ $value == *\'* ]] && continue ;;
      *) value=$flag$value && printf -v value %q "${value:kept}" ;;
    esac
    # Two records can have the same name.
    [[ $seen == *$'\n'"$value"$'\n'* ]] && continue
    seen+=$value$'\n'
    values+=("$value")
    show+=("$about")
  done
  # 37 and 42 insert one value after the other, without a list.
  if ((${#values[@]} == 1)) || [[ $COMP_TYPE == 37 || $COMP_TYPE == 42 ]]; then
    COMPREPLY=("${values[@]}")
    return
  fi
  for ((i = 0; i < ${#values[@]}; i++)); do
    if [[ -n ${show[i]} ]]; then
      COMPREPLY+=("${values[i]}  (${show[i]})")
    else
      COMPREPLY+=("${values[i]}")
    fi
  done
}

complete -F _pt pt
