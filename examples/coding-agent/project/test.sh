failed=0

# expect TOTAL COST
expect() {
  cost=$(sh shipping.sh "$1")
  if [ "$cost" = "$2" ]; then
    echo "ok: the shipping of $1 costs $2"
  else
    echo "FAILED: the shipping of $1 costs $cost, not $2"
    failed=1
  fi
}

expect 49 5
expect 50 0
expect 51 0
exit $failed
