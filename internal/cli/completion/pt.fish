# Completion of pt for fish.

function __pt_complete
    set -l words (commandline -opc)
    set -l part (commandline -ct)
    set -l typed (string unescape -- $part)
    or set typed $part
    set -l lines (pt __complete $words[2..-1] "$typed" 2>/dev/null)
    set -l directive (string replace -r '^:' '' -- $lines[-1])
    string match -qr '^[0-9]+$' -- "$directive"
    or return
    if test (math "floor($directive / 8) % 2") -eq 1
        for extension in $lines[1..-2]
            __fish_complete_suffix ".$extension"
        end
        return
    end
    # For --flag=value, fish expects the flag in front of each value.
    set -l flag (string match -r -- '^-[^=]*=' "$typed")
    test (count $lines) -gt 1
    or return
    for line in $lines[1..-2]
        printf '%s\n' "$flag$line"
    end
end

complete -c pt -e
complete -c pt -f -k -a '(__pt_complete)'
