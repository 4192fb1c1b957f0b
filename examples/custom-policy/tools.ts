import type { Tool } from "sandgate";

const inputSchema = {
  type: "object",
  properties: { text: { type: "string" } },
  required: ["text"],
  additionalProperties: false,
};

/** One tool for each case that the policy distinguishes. */
export const tools: readonly Tool[] = [
  {
    name: "count_words",
    description: "Counts the words of a text.",
    inputSchema,
    sideEffects: "none",
    host: ({ text }: { readonly text: string }) => text.split(/\s+/).filter((word) => word !== "").length,
  },
  {
    name: "shout",
    description: "Writes a text in capitals.",
    inputSchema,
    sideEffects: "write",
    host: ({ text }: { readonly text: string }) => text.toUpperCase(),
    quickjs: { source: "export default ({ text }) => text.toUpperCase();" },
  },
  {
    name: "log_line",
    description: "Appends a line to the log of this process.",
    inputSchema,
    sideEffects: "write",
    host: ({ text }: { readonly text: string }) => console.log(text),
  },
  {
    name: "wipe_disk",
    description: "Deletes everything.",
    inputSchema,
    sideEffects: "destructive",
    quickjs: { source: "export default () => 'gone';" },
  },
];
