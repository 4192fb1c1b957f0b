// Mastra's tool.
import { createTool } from "@mastra/core/tools";
import { z } from "zod";

export function open({ INPUT }) {
  const inputSchema = z.object({
    path: z.string(),
    lines: z.array(z.number().int()).optional(),
    follow: z.boolean().optional(),
  });
  const echo = createTool({
    id: "echo",
    description: "Echoes.",
    inputSchema,
    execute: async (input) => input,
  });
  return { run: () => echo.execute(INPUT, {}) };
}
