import { ConfigError, formatProblem } from "../../../config/problem.ts";
import { joinShown, type ShownText, shown } from "../../../rendering/shown.ts";
import { loadConfig } from "../../config/load-config.ts";
import type { LocatedProof } from "../../config/load-policy.ts";
import {
  EXIT_OK,
  EXIT_TOOL_FAILED,
  type ExitCode,
  print,
  showProblems,
  type Terminal,
} from "../../terminal.ts";
import { PinnedServers } from "../mcp/servers.ts";

/**
 * Prints the result for each invariant of a config's policies: that it is proved, or rules that may violate it and calls that
 * do.
 *
 * @throws {ConfigError} if the config is invalid for another reason.
 */
export async function prove(
  { config }: { readonly config: string },
  { stdout, stderr }: Terminal,
): Promise<ExitCode> {
  await using servers = new PinnedServers();
  const { problems, proofs } = await loadConfig(config, servers);
  const unproved = proofs.flatMap((located) => located.problems);
  const otherProblems = problems.filter((problem) => !unproved.includes(problem));
  // An invariant is proved over all tools and all rules, or not at all.
  if (otherProblems.some(({ severity }) => severity === "error")) throw new ConfigError(problems);
  await print(stderr, showProblems(otherProblems));
  const proved = proofs.filter(({ proof }) => proof.verdict === "proved");
  const sum = shown`${proved.length} of ${proofs.length} invariants are proved`;
  await print(stdout, joinShown([...proofs.flatMap(describe), sum], "\n"));
  return proved.length === proofs.length ? EXIT_OK : EXIT_TOOL_FAILED;
}

function describe({ proof, problems }: LocatedProof): readonly ShownText[] {
  const { name, verdict, tools } = proof;
  if (verdict === "proved") {
    const about = tools.length === 0 ? "no registered tool: it says nothing" : tools.slice(0, 10).join(", ");
    return [
      shown`proved: '${name}', of ${about}${tools.length > 10 ? `, and ${tools.length - 10} more` : ""}`,
    ];
  }
  const heading =
    verdict === "broken" ? shown`does not hold: '${name}'` : shown`could not be decided: '${name}'`;
  return [heading, ...problems.map((problem) => shown`  ${formatProblem(problem)}`)];
}
