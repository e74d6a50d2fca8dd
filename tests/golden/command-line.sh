# What the frame says to command lines that are wrong, with its exit status; and to right ones.
try() { # lists of names grow: usage.sh looks at those
    echo "\$ kvreplay $*" >&2
    "$KVREPLAY" "$@" 2>message
    status=$?
    sed 's/the commands are .*/the commands are …/; s/^\(hint: the options of [a-z]*\): .*/\1: …/' message >&2
    echo "exit $status" >&2
}
try
try ''
try halp
try nonsense
try help nonsense
try help help
try --version
try --help replay | head -n 1

# Operands.
try help one two
try info
try info one.h5 two.h5
try replay -o out

# Options.
try replay one.h5 --verbose
try replay one.h5 --bugdet 0.1
try replay one.h5 --budget=0.1,0.2 --budget 0.3
try replay one.h5 --budget
try replay one.h5 --budget --quiet
try replay one.h5 --budget --
try replay one.h5 --quiet=yes
try replay one.h5 -oout
try replay one.h5 -q
try replay one.h5 --tau=
try replay one.h5 -o out --samples ,
try replay -o out -- --quiet
try replay -o out -
