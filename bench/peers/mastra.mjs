// Mastra's tool.
import { createTool } from "@mastra/core/tools";
import { z } from "zod";
import { INPUT_SHAPE } from "./input-shape.mjs";

export function open({ INPUT }) {
  const inputSchema = z.object(INPUT_SHAPE);
  const echo = createTool({
    id: "echo",
    description: "Echoes.",
    inputSchema,
    execute: async (input) => input,
  });
  return { run: () => echo.execute(INPUT, {}) };
}
