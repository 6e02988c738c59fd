#compdef pt
# Completion of pt for zsh.

_pt() {
  local -a lines values shown globs
  local line value about directive
  lines=("${(@f)$(pt __complete "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
  directive=${lines[-1]#:}
  [[ $directive == <-> ]] || return 1
  lines=("${(@)lines[1,-2]}")
  (( directive & 1 )) && return 1
  if (( directive & 8 )); then
    for line in "${lines[@]}"; do globs+=("*.$line"); done
    _files -g "${(j:|:)globs}"
    return
  fi
  for line in "${lines[@]}"; do
    value=${line%%$'\t'*}
    [[ -n $value ]] || continue
    values+=("$value")
    if [[ $line == *$'\t'* ]]; then
      about=${line#*$'\t'}
      (( ${#about} > 60 )) && about=${about[1,59]}…
      shown+=("$value  -- $about")
    else
      shown+=("$value")
    fi
  done
  (( ${#values} )) || return 1
  compset -P '-*='
  # -V keeps the order: the most useful values come first.
  if (( directive & 2 )); then
    compadd -V pt -l -d shown -M 'm:{a-zA-Z}={A-Za-z}' -S '' -a values
  else
    compadd -V pt -l -d shown -M 'm:{a-zA-Z}={A-Za-z}' -a values
  fi
}

if [[ $funcstack[1] == _pt ]]; then
  _pt "$@"
else
  compdef _pt pt
fi
