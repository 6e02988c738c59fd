package embedded

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// account is the user that the server runs as. The zero account is the process's own
// user.
type account struct {
	switchesUser bool
	uid, gid     uint32
}

// newAccount returns the account that runs the server of this data folder: the process's
// own user, unless that is root, which PostgreSQL rejects. For root it is the owner of the
// data folder if it exists, else the system's postgres user, else nobody.
func newAccount(data string) (account, error) {
	if os.Geteuid() != 0 {
		return account{}, nil
	}
	info, err := os.Stat(data)
	if err == nil {
		if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid != 0 {
			return account{switchesUser: true, uid: st.Uid, gid: st.Gid}, nil
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return account{}, fmt.Errorf("embedded: %w", err)
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.ParseUint(u.Uid, 10, 32)
		gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
		if uidErr != nil || gidErr != nil || uid == 0 {
			continue
		}
		return account{switchesUser: true, uid: uint32(uid), gid: uint32(gid)}, nil
	}
	// Any user except root works; the id need not be in the user database.
	return account{switchesUser: true, uid: 65534, gid: 65534}, nil
}

// credential returns the credential for a child process; nil means the process's own.
func (a account) credential() *syscall.Credential {
	if !a.switchesUser {
		return nil
	}
	return &syscall.Credential{Uid: a.uid, Gid: a.gid}
}

// chown changes the owner of a file to the account.
func (a account) chown(path string) error {
	if !a.switchesUser {
		return nil
	}
	return os.Lchown(path, int(a.uid), int(a.gid))
}

// userID returns the user id that owns the files of the account.
func (a account) userID() int {
	if a.switchesUser {
		return int(a.uid)
	}
	return os.Geteuid()
}
