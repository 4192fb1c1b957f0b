import { get, withQuery } from "./http.ts";

/** A tool, with what is pinned of it. */
export interface ToolView {
  readonly name: string;
  readonly description: string;
  readonly sideEffects: string;
  readonly sandboxes: readonly string[];
  /** Printable JSON. Absent if it is longer than the server shows. */
  readonly inputSchema?: string;
  /** `config`, `mcp:NAME` or `component`. */
  readonly source: string;
  readonly pin?: { readonly state: "pinned" | "changed" | "new" | "none"; readonly diff?: string };
  readonly component?: {
    readonly imports: readonly string[];
    readonly exports: readonly string[];
    /** The number of those that are not shown. */
    readonly more?: number;
  };
}

interface Page {
  readonly tools: readonly ToolView[];
  /** The `after` of the next page. */
  readonly next?: string;
}

/** Reads all tools, page after page. */
export async function readTools(): Promise<readonly ToolView[]> {
  const tools: ToolView[] = [];
  let after: string | undefined;
  do {
    const page: Page = await get(withQuery("/v1/console/tools", { after, limit: 500 }));
    tools.push(...page.tools);
    after = page.next;
  } while (after !== undefined);
  return tools;
}
