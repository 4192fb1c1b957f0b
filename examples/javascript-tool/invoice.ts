import { cents, formatCents } from "./lib/money.ts";

interface Invoice {
  readonly currency: string;
  readonly lines: readonly { readonly item: string; readonly quantity: number; readonly price: string }[];
}

interface Context {
  readonly tools: { call(name: string, input: unknown): Promise<unknown> };
  readonly log: (...items: unknown[]) => void;
}

/** Adds up an invoice. An invoice in a foreign currency is converted at the rate that another tool returns. */
export default async ({ currency, lines }: Invoice, { tools, log }: Context): Promise<object> => {
  let total = 0;
  for (const { item, quantity, price } of lines) {
    if (quantity < 0) throw new RangeError(`the quantity of '${item}' is negative`);
    total += quantity * cents(price);
  }
  log("added up", lines.length, "lines");
  if (currency === "EUR") return { total: formatCents(total), currency };
  const rate = await tools.call("exchange_rate", { from: currency, to: "EUR" });
  return { total: formatCents(total * Number(rate)), currency: "EUR", rate };
};
