const FREE_FROM = 50;
const COST = 5;

/** Returns what the shipping of an order costs. */
export function shippingCost(total) {
  return total >= FREE_FROM ? 0 : COST;
}
