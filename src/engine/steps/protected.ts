import type { AllowDecision, AskDecision } from "../../policy/decision.ts";
import { checkGrant, type ExecutionGrant } from "../../policy/grant/execution-grant.ts";
import { type FsGrant, isFileGrant } from "../../policy/grant/fs-grant.ts";
import { shownPath } from "../../tool/file-failure.ts";
import type { DeclaredPath } from "../arguments/declared-paths.ts";
import { protectedPlaceText, protectedQuestion } from "../failure/errors.ts";
import { Refusal } from "../failure/refusal.ts";
import type { GrantedCall } from "../in-flight/state.ts";
import { canAsk } from "./authorise.ts";

/** A declared path in a place that a person is asked about. */
interface AskedPath {
  readonly declared: DeclaredPath;
  readonly reason: string;
}

/**
 * Looks at the paths that a call would write in protected places which its grant does not open. A call of a host tool has a
 * person asked, who opens those of the list `asked` for this call; everything else is refused: the sandbox would refuse it,
 * too late for the person who was asked.
 *
 * @throws {Refusal} `permission_denied`.
 */
export function openProtected(call: GrantedCall): void {
  const asked = (call.declaredPaths ?? []).flatMap((declared) => askedPath(call, declared));
  if (asked.length === 0) return;
  const [{ declared, reason }] = asked as [AskedPath, ...AskedPath[]];
  const isForHost = asked.some((each) => !each.declared.opensProtected);
  if ((isForHost && call.grant.sandbox !== "host") || !canAsk(call)) throw refusal(declared, reason);
  const grant = opened(call.grant, asked);
  call.grant = grant;
  if (call.confirmation === undefined) call.decision = question(call.decision, call.granted, asked);
}

function askedPath({ ctx, grant }: GrantedCall, declared: DeclaredPath): readonly AskedPath[] {
  const { access, resolved } = declared;
  const { workspace } = ctx;
  if (access !== "write" || resolved === undefined || workspace === undefined) return [];
  const holding = (grant.capabilities.fs ?? []).filter((each) => each.write && resolved.isIn(placeOf(each)));
  const opening = [{ named: namesIn(workspace), writesProtected: undefined }, ...holding.map(protectionOf)];
  const found = opening.map((each) => resolved.protectedPlaces(each));
  // Each grant can open it, and the workspace can name it.
  const least = found.reduce((a, b) => (b.length < a.length ? b : a));
  const denied = least.find(
    ({ list, isOwn, path }) =>
      list === "denied" && (!declared.opensProtected || isOwn || path.startsWith(".git/")),
  );
  if (denied !== undefined) throw refusal(declared, denied.reason);
  const [place] = least;
  return place === undefined ? [] : [{ declared, reason: place.reason }];
}

function refusal({ path }: DeclaredPath, reason: string): Refusal {
  return new Refusal("permission_denied", protectedPlaceText(shownPath(path), reason), {
    detail: "a declared path is in a protected place that no grant opens",
  });
}

/** Nothing that was allowed earlier in the session answers it. */
function question(
  decision: AllowDecision | AskDecision,
  grant: ExecutionGrant,
  asked: readonly AskedPath[],
): AskDecision {
  const paths = asked.map(({ declared, reason }) => `'${shownPath(declared.path)}', which ${reason}`);
  const also = protectedQuestion(paths);
  const { rules, sandboxes, policyDecision = decision.decision } = decision;
  return Object.freeze({
    decision: "ask",
    question: decision.decision === "ask" ? `${decision.question} ${also}` : also,
    grant,
    policyDecision,
    ...(rules !== undefined && { rules }),
    ...(sandboxes !== undefined && { sandboxes }),
  });
}

/** Returns a grant that opens the paths, wherever it lets the tool write. */
function opened(grant: ExecutionGrant, asked: readonly AskedPath[]): ExecutionGrant {
  const fs = (grant.capabilities.fs ?? []).map((each): FsGrant => {
    if (!each.write || each.writesProtected === true) return each;
    const paths = asked.flatMap(({ declared }) => declared.resolved?.pathsIn(placeOf(each)) ?? []);
    const open = [...(each.writesProtected ?? []), ...paths.filter((path) => path !== "")];
    return open.length === 0 ? each : { ...each, writesProtected: open };
  });
  return fs.length === 0 ? grant : checkGrant({ ...grant, capabilities: { ...grant.capabilities, fs } });
}

function protectionOf(grant: FsGrant): {
  named: readonly string[];
  writesProtected: FsGrant["writesProtected"];
} {
  return { named: namesIn(placeOf(grant)), writesProtected: grant.writesProtected };
}

/** The place that a grant names. */
function placeOf(grant: FsGrant): string {
  return isFileGrant(grant) ? (grant.within ?? grant.file) : grant.directory;
}

function namesIn(path: string): readonly string[] {
  return path.split("/").filter((name) => name !== "");
}
