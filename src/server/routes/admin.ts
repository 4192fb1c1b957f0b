import type { Exchange } from "../../http/exchange.ts";
import {
  badRequest,
  revoked as credentialRevoked,
  draining,
  invalidPolicy,
  invalidTrial,
  notFound,
  notRepeatable,
  overloaded,
  unavailable,
} from "../../http/refusals.ts";
import { JournalError } from "../../journal/journal-error.ts";
import { principalIn } from "../../journal/read/record-members.ts";
import { CallRepetition, JOURNAL, PolicyTrial, type RepeatedCall } from "../../shapes/journal.ts";
import { SERVER } from "../../shapes/server.ts";
import { latestDiffView, showTexts } from "../journal-views.ts";
import type { SessionService } from "../service.ts";
import { historyOf, orUnavailable, seqOf } from "./journal.ts";
import { type App, serve } from "./serve.ts";

/** Milliseconds after which a comparison ends. */
const MAX_COMPARISON_MS = 60_000;

/** JSON is YAML too. */
const POLICY_MEDIA_TYPES = Object.keys(SERVER.replacePolicy.body.content);

/** What admins do: replacing the policy, pausing, and resuming. */
export function adminRoutes(app: App, { admin }: SessionService): void {
  serve(app, SERVER.replacePolicy, async ({ env, json }) => {
    const { problems, revision } = await admin.replacePolicy(
      await env.readText(POLICY_MEDIA_TYPES),
      env.client,
      env.revoked,
    );
    if (revision === undefined) throw invalidPolicy(problems);
    return json({ revision, warnings: problems });
  });

  for (const [operation, paused] of [
    [SERVER.pause, true],
    [SERVER.resume, false],
  ] as const) {
    serve(app, operation, ({ env, json }) => {
      admin.setPaused(paused, env.client);
      return json({ paused });
    });
  }
}

/** What admins try out on recorded calls: another policy, and the calls themselves. */
export function journalTrialRoutes(app: App, service: SessionService): void {
  const { admin, inspected } = service;
  const { redaction } = inspected;

  let isComparing = false;
  serve(app, JOURNAL.comparePolicies, async ({ env, json }) => {
    const history = historyOf(inspected);
    const { policy: text, last } = await env.read(PolicyTrial);
    service.refuseIfEnding();
    if (isComparing) throw overloaded("two policies are being compared: retry when that has ended");
    isComparing = true;
    try {
      const read = await admin.readPolicy(text);
      if ("problems" in read) throw invalidTrial(read.problems);
      const before = admin.sources;
      if (before.length === 0) throw badRequest("the policy of the server is in code: it cannot be compared");
      const sources = { before, after: read.policy.sources };
      const diff = await inTime(env, service, (signal) =>
        orUnavailable(history.comparePolicies(sources, last, signal)),
      );
      return json(latestDiffView(diff, redaction));
    } finally {
      isComparing = false;
    }
  });

  serve(app, JOURNAL.repeatCall, async ({ env, req, json }) => {
    const history = historyOf(inspected);
    const seq = seqOf(req.param("seq"));
    const { dryRun } = await env.read(CallRepetition);
    service.refuseIfEnding();
    service.refuseIfPaused();
    const { client, closed, revoked } = env;
    const signal = AbortSignal.any([closed, revoked, service.ending]);
    const { repeats } = inspected;
    const found = await orUnavailable(history.call(seq, signal));
    if (repeats === undefined || found === undefined || !client.inspects({ principal: ownerOf(found.begin) }))
      throw notFound();
    const { begin } = found;
    const { tool, definitionDigest } = begin;
    const read = await orUnavailable(history.argumentsOf(begin, signal));
    if (typeof tool !== "string" || "missing" in read)
      throw notRepeatable("the record does not have the arguments of the call, or not all of them");
    const call = { seq, tool, args: read.value };
    const toolChanged = inspected.registry.find(tool)?.subject.definition?.digest !== definitionDigest;
    const asking = { name: client.name, principal: client.principal, signal };
    if (dryRun) {
      const decision = await repeats.decide(call, asking);
      const shown = showTexts(decision, redaction);
      return json({ dryRun, toolChanged, decision: shown, ...ranBy(client.principal?.id) });
    }
    const execution = await repeats.run(call, asking);
    const shown = execution && showTexts(execution, redaction);
    return json({ dryRun, toolChanged, execution: shown, ...ranBy(client.principal?.id) });
  });
}

function ranBy(id: string | undefined): Pick<RepeatedCall, "principal"> {
  return id === undefined ? {} : { principal: { id } };
}

function ownerOf(begin: Parameters<typeof principalIn>[0]): { readonly id: string } | undefined {
  const id = principalIn(begin);
  return id === undefined ? undefined : { id };
}

/** @throws {RequestRefusal} as a rejection, if the comparison took too long or is no longer wanted. */
async function inTime<Result>(
  { closed, revoked }: Exchange,
  { ending }: SessionService,
  compare: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const timeout = AbortSignal.timeout(MAX_COMPARISON_MS);
  try {
    return await compare(AbortSignal.any([closed, revoked, ending, timeout]));
  } catch (error) {
    if (revoked.aborted) throw credentialRevoked();
    if (ending.aborted) throw draining();
    if (timeout.aborted)
      throw unavailable("comparing the policies took too long: use 'sandgate policy diff'", error);
    if (error instanceof JournalError) throw unavailable("the journal cannot be read", error);
    throw error;
  }
}
