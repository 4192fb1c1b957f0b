/** Settings that say how files and index belong together, and who commits. Git runs no program by them. */
const KEPT: ReadonlyMap<string, RegExp> = new Map([
  ["core.filemode", /^(true|false)$/i],
  ["core.symlinks", /^(true|false)$/i],
  ["core.autocrlf", /^(true|false|input)$/i],
  ["core.eol", /^(lf|crlf|native)$/i],
  // Without characters that have a meaning in configuration.
  ["user.name", /^[^\p{C}"\\;#]{1,200}$/u],
  ["user.email", /^[^\p{C}"\\;#]{1,200}$/u],
]);

const SECTION = /^\s*\[\s*([\w.-]+)[^\]]*\]/;
const SETTING = /^\s*([\w-]+)\s*=\s*(.*?)\s*$/;

/**
 * Returns a configuration for a copy of a repository, with the few settings of its own that cannot do harm. Others are left
 * out: those by which git runs programs, includes other files, or reaches remote repositories.
 *
 * @param text The configuration of the repository (git-config(1)).
 * @returns `undefined` if the repository has another format than all versions of git know.
 */
export function freshConfig(text: string): string | undefined {
  const kept = new Map<string, string>();
  let section = "";
  for (const line of text.split("\n")) {
    const start = SECTION.exec(line);
    // A subsection, as in `[core "x"]`, is another section.
    if (start !== null) section = start[0].includes('"') ? "" : (start[1] as string).toLowerCase();
    if (start?.[1]?.toLowerCase() === "extensions") return undefined;
    const [, name = "", value = ""] = SETTING.exec(line.slice(start?.[0].length ?? 0)) ?? [];
    const key = `${section}.${name.toLowerCase()}`;
    if (key === "core.repositoryformatversion" && value !== "0") return undefined;
    if (KEPT.get(key)?.test(value)) kept.set(key, value);
  }
  const lines = [...kept].map(([key, value]) => {
    const [of = "", name = ""] = key.split(".");
    return `[${of}]\n\t${name} = "${value}"\n`;
  });
  return `[core]\n\trepositoryformatversion = 0\n\tbare = false\n${lines.join("")}`;
}
