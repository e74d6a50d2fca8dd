# Every policy and every stage with its source and what a trace must hold.
"$KVREPLAY" help policies
echo "exit $?"
"$KVREPLAY" help policies | awk 'length > 80' | wc -l
