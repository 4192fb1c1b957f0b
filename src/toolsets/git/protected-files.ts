import type { PathArgument } from "../../tool/tool-traits.ts";
import { PROTECTED_PLACES } from "../../workspace/protected-places.ts";

/** An argument of a call that a person has confirmed: protected files that it may write. */
export interface OpenedFiles {
  readonly protected?: readonly string[];
}

/** The schema of the argument. */
export const PROTECTED_FILES: {
  readonly type: "array";
  readonly items: { readonly type: "string"; readonly maxLength: 4_096 };
  readonly maxItems: 100;
  readonly description: string;
} = {
  type: "array",
  items: { type: "string", maxLength: 4_096 },
  maxItems: 100,
  description:
    "Protected files that the call may write: the user is asked. Protected is what other programs start (.githooks, .husky, " +
    ".gitmodules, .envrc, .claude, .mcp.json, .vscode and the like) or follow (AGENTS.md, .github/workflows, .npmrc and the like). " +
    "The tool names them if it refuses a call for their sake.",
};

/** The trait of a tool with the argument. */
export const OPENS_PROTECTED: readonly PathArgument[] = [
  { argument: "/protected/*", access: "write", opensProtected: true },
];

/** An extended regular expression for paths in protected places, in any case. */
const PATTERN = PROTECTED_PLACES.map(({ path }) => path)
  .filter((path) => !path.startsWith(".git/"))
  .map((path) => path.replace(/[.+]/g, "\\$&").replaceAll("*", "[^/]*"))
  .join("|");

/**
 * Returns commands of sh that fail before anything is written, if protected files would be.
 *
 * @param changed Commands that print the paths that would be written, each with a NUL.
 */
export function refuseProtectedFiles(changed: string, { protected: opened = [] }: OpenedFiles): string {
  const list = opened.map((path) => `${quote(path)}`).join(" ");
  return `
opened=$(printf '%s\\n' ${list || "''"})
found=$({ ${changed}
} 2>/dev/null | tr '\\0' '\\n' | grep -iE '(^|/)(${PATTERN})(/|$)' | sort -u | grep -vxF -e "$opened" | head -n 20 | paste -sd, | sed 's/,/, /g')
[ -z "$found" ] || fail "Nothing was done: this would write files that other programs run or follow: $found. Name them in 'protected' to have the user asked"`;
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
