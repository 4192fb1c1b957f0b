import { useSignal } from "@preact/signals";
import { type JSX, render } from "preact";
import { useMemo } from "preact/hooks";
import type { Answer, Resolution } from "../shapes/confirmations.ts";
import { ApiError, messageOf } from "./api/http.ts";
import { answerLink, type LinkedConfirmation, readLink } from "./api/requests.ts";
import { loadSession, logIn } from "./api/session.ts";
import { App } from "./app.tsx";
import { Folding, FoldingContext } from "./arguments/arguments.tsx";
import { useKeys } from "./page/keys.ts";
import { Badge } from "./parts/badges.tsx";
import { Foreign } from "./parts/foreign.tsx";
import { Problem, useLoaded } from "./parts/loaded.tsx";
import { Answering } from "./waiting/answering.tsx";
import { ConfirmationFacts } from "./waiting/confirmation-facts.tsx";
import { endOf } from "./waiting/confirmations.ts";

const GONE = "This link was used already, or what it was for has ended.";

const root = document.getElementById("console");
if (root === null) throw new Error("the page has no element for the console");

const answerToken = takeAnswerToken();
if (answerToken === undefined) {
  const token = takeToken();
  if (token === undefined) await loadSession();
  else await logIn(token);
  render(<App />, root);
} else {
  render(<AnswerByLink token={answerToken} />, root);
}

/** Returns the token of a link that answers, `/console/#/answer/…`, and removes it like {@link takeToken}; `undefined` for other addresses. */
function takeAnswerToken(): string | undefined {
  const [, token] = /^#\/answer\/([\w-]+)$/.exec(location.hash) ?? [];
  if (token !== undefined) history.replaceState(undefined, "", `${location.pathname}${location.search}`);
  return token;
}

/**
 * Returns the token of an address such as `/console/#token=…`, and removes it from the address bar and from the entry of
 * the history, so that it is neither bookmarked nor seen over a shoulder; `undefined` for other addresses.
 */
function takeToken(): string | undefined {
  const match = /^#token=(.+)$/.exec(location.hash);
  if (match === null) return undefined;
  history.replaceState(undefined, "", `${location.pathname}${location.search}`);
  const [, encoded = ""] = match;
  try {
    return decodeURIComponent(encoded);
  } catch {
    return encoded;
  }
}

/** Shows what a link of a notification is about, and takes one answer without a login. */
function AnswerByLink({ token }: { readonly token: string }): JSX.Element {
  const { value, problem } = useLoaded(token, () => readLink(token).catch(explain));
  const end = useSignal<Resolution | undefined>(undefined);
  const answer = async (given: Omit<Answer, "digest">): Promise<string> => {
    try {
      end.value = await answerLink(token, given);
      return "";
    } catch (error) {
      return isGone(error) ? GONE : messageOf(error);
    }
  };
  const confirmation = value.value;
  return (
    <main id="main" class="linked" tabIndex={-1}>
      <Problem of={problem} />
      {confirmation !== undefined && <Linked confirmation={confirmation} end={end.value} onAnswer={answer} />}
      {(confirmation === undefined || end.value !== undefined) && (
        <p>
          <a href="/console/">Log in to the console</a>
        </p>
      )}
    </main>
  );
}

function Linked({
  confirmation,
  end,
  onAnswer,
}: {
  readonly confirmation: LinkedConfirmation;
  readonly end: Resolution | undefined;
  readonly onAnswer: (answer: Omit<Answer, "digest">) => Promise<string>;
}): JSX.Element {
  const isExact = useSignal(false);
  const folding = useMemo(() => new Folding(), []);
  useKeys({
    x: () => {
      isExact.value = !isExact.value;
    },
    o: () => {
      folding.isOpen.value = true;
    },
  });
  return (
    <FoldingContext.Provider value={folding}>
      <section class="panel confirmation" aria-label="Confirmation">
        <section class="reading" aria-label="What is asked" tabIndex={0}>
          {end !== undefined && (
            <p class="resolution" role="status">
              This was {endOf(end)}.
            </p>
          )}
          <h1 tabIndex={-1}>
            <Foreign text={confirmation.toolName} /> <Badge word={confirmation.sideEffects} />
          </h1>
          <p class="quiet">
            You answer as <Foreign text={confirmation.approver} />, once.
          </p>
          <ConfirmationFacts confirmation={confirmation} isExact={isExact.value} />
        </section>
        {end === undefined && (
          <div class="actions">
            <Answering confirmation={confirmation} mayEdit={false} onAnswer={onAnswer} />
          </div>
        )}
      </section>
    </FoldingContext.Provider>
  );
}

function isGone(error: unknown): boolean {
  return error instanceof ApiError && [404, 409, 410].includes(error.status);
}

function explain(error: unknown): never {
  if (error instanceof ApiError && isGone(error)) throw new ApiError(error.status, error.code, GONE);
  throw error;
}
