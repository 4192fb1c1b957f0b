import type { Redaction } from "../../../redaction/redaction.ts";
import { render, textOf } from "../../../rendering/render.ts";
import { explainCall } from "./call-explanation.ts";
import type { CallRecord } from "./call-record.ts";
import type { CallSuggestion, CallSuggestions } from "./call-suggestion.ts";
import { callSummary } from "./call-view.ts";

/** The most characters of one text. */
const CHARS = 20_000;

/**
 * A whole call. Its texts are foreign: they are without secrets, and what is not what it looks like is escaped.
 *
 * @param console That of the server, which hides secrets and finds suggestions.
 */
export async function callDetails(
  record: CallRecord,
  epoch: string,
  { redaction, suggestions }: { readonly redaction: Redaction; readonly suggestions: CallSuggestions },
): Promise<object> {
  const show = (text: string, syntax: "text" | "json" = "text"): string =>
    textOf(render(redaction.text(text), { syntax, keepsLines: true, chars: CHARS }));
  const { argumentsText, output, log, error, detail, receipt, requestId } = record;
  const explanation = await explainCall(record, redaction);
  const suggestion = await suggestions.for(record);
  return {
    ...callSummary(record, epoch, redaction),
    ...(argumentsText !== undefined && { arguments: show(argumentsText, "json") }),
    ...(output !== undefined && { output: show(output, "json") }),
    log: log.map((line) => show(line)),
    ...(error && {
      error: {
        ...{ code: error.code, message: show(error.message), effect: error.effect },
        ...(error.limit !== undefined && { limit: error.limit }),
        ...(detail !== undefined && { detail: show(detail) }),
      },
    }),
    ...(explanation && {
      explanation: {
        ...explanation,
        ...(explanation.reason !== undefined && { reason: show(explanation.reason) }),
        rules: explanation.rules.map(({ name, because, file, ...rule }) => ({
          ...{ name: show(name), ...rule, because: because.map((text) => show(text)) },
          ...(file !== undefined && { file: show(file) }),
        })),
        near: explanation.near.map(({ rule, missed }) => ({
          ...{ rule: show(rule), missed: missed.map((text) => show(text)) },
        })),
        ...(explanation.grant !== undefined && { grant: show(explanation.grant, "json") }),
      },
    }),
    ...(suggestion && { suggestion: shownSuggestion(suggestion, show) }),
    ...(receipt && { receipt }),
    ...(requestId !== undefined && { confirmation: { requestId } }),
  };
}

/** The rules have visible ASCII only, and no secret: they are copied as they are. */
function shownSuggestion(suggestion: CallSuggestion, show: (text: string) => string): CallSuggestion {
  if ("withheld" in suggestion) return { withheld: show(suggestion.withheld) };
  const { text, where, widens, ...others } = suggestion;
  return { ...others, text: show(text), where: show(where), widens: widens.map((line) => show(line)) };
}
