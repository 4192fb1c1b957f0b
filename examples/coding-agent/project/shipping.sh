# Prints what the shipping of an order costs. Usage: sh shipping.sh TOTAL
if [ "$1" -gt 50 ]; then
  echo 0
else
  echo 5
fi
