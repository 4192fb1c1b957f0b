import { defineTool, ToolRegistry } from "sandgate";

const PRICES: Readonly<Record<string, number>> = { pencil: 2, laptop: 1_900 };

/** Two tools: one that reads, and one that does what a person should know of. */
export function registerTools(): ToolRegistry {
  const item = { type: "object", properties: { item: { type: "string" } }, required: ["item"] } as const;
  return new ToolRegistry()
    .register(
      defineTool({
        name: "look_up_price",
        description: "Returns the price of an item.",
        inputSchema: item,
        sideEffects: "read",
        host: ({ item }) => PRICES[item] ?? null,
      }),
    )
    .register(
      defineTool({
        name: "order",
        description: "Orders an item.",
        inputSchema: item,
        sideEffects: "network",
        host: ({ item }) => `ordered: ${item}`,
      }),
    );
}
