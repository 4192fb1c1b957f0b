import { type Signal, signal, useSignal } from "@preact/signals";
import type { JSX, RefObject } from "preact";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { Answer, OpenConfirmation } from "../../shapes/confirmations.ts";
import { Folding, FoldingContext } from "../arguments/arguments.tsx";
import { useKeys } from "../page/keys.ts";
import { go } from "../page/route.ts";
import { Badge } from "../parts/badges.tsx";
import { Foreign } from "../parts/foreign.tsx";
import { count } from "../parts/format.ts";
import { Problem, useLoaded } from "../parts/loaded.tsx";
import { ConfirmForm } from "./confirm-form.tsx";
import { ConfirmationFacts } from "./confirmation-facts.tsx";
import { answerAtOnce, confirmations, giveAnswer } from "./confirmations.ts";
import { selected } from "./listing.ts";
import { readWhole } from "./whole-confirmations.ts";

/** How many answers are sent at once: browsers have six connections to a server, and one of them is that of the events. */
const AT_ONCE = 4;

/** The id of the selected confirmations in the address. No confirmation has this id. */
const ID = "(together)";

/** The confirmations that are answered together, as they were when the person began. */
const members: Signal<readonly OpenConfirmation[]> = signal([]);

/** Whether an address is that of {@link TogetherPanel}. */
export function isTogether(id: string): boolean {
  return id === ID && members.value.length > 0;
}

/** Shows the selected confirmations, so that one answer can be given to all of them. */
export function together(): void {
  const ids = selected.peek();
  if (ids.size < 2) return;
  members.value = confirmations
    .peek()
    .map(({ confirmation }) => confirmation)
    .filter(({ requestId }) => ids.has(requestId));
  go("waiting", ID);
}

/** Shows several confirmations one below the other, and takes one answer for all after each was shown. */
export function TogetherPanel(): JSX.Element {
  const all = members.value;
  // A new selection resets the state, even while another one is shown.
  return <Together key={all.map(({ requestId }) => requestId).join()} all={all} />;
}

function Together({ all }: { readonly all: readonly OpenConfirmation[] }): JSX.Element {
  const shown = useSignal<ReadonlySet<string>>(new Set());
  const step = useSignal<"first" | "allow" | "deny">("first");
  const isBusy = useSignal(false);
  const isExact = useSignal(false);
  const result = useSignal("");
  const progress = useSignal("");
  const problem = useSignal("");
  const reading = useRef<HTMLElement>(null);
  const folding = useMemo(() => new Folding(), []);
  const unseen = all.filter(({ requestId }) => !shown.value.has(requestId));
  const hasEnded = result.value !== "";
  useLayoutEffect(() => reading.current?.focus(), []);
  const next = (): void => {
    const [first] = unseen;
    if (first !== undefined)
      document.getElementById(`end-${first.requestId}`)?.scrollIntoView({ block: "end" });
  };
  const begin = (decision: "first" | "allow" | "deny"): void => {
    if (isBusy.value || hasEnded || (decision === "allow" && unseen.length > 0)) return;
    step.value = decision;
    if (decision === "first") reading.current?.focus();
  };
  const answer = async (given: Omit<Answer, "digest">): Promise<void> => {
    isBusy.value = true;
    const problems: string[] = [];
    const left = [...all];
    const answerNext = async (): Promise<void> => {
      for (let confirmation = left.shift(); confirmation !== undefined; confirmation = left.shift()) {
        progress.value = `${all.length - left.length - 1} of ${all.length} answered…`;
        const why = await giveAnswer(confirmation, { ...given, digest: confirmation.digest });
        if (why !== "") problems.push(`${confirmation.toolName}: ${why}`);
      }
    };
    await answerAtOnce(() => Promise.all(Array.from({ length: AT_ONCE }, answerNext)));
    const done = all.length - problems.length;
    result.value = `${count(done, "call")} ${given.decision === "deny" ? "denied" : "allowed"}.`;
    problem.value = problems.join(" ");
    step.value = "first";
    isBusy.value = false;
    reading.current?.focus();
  };
  useKeys({
    n: next,
    a: () => begin("allow"),
    d: () => begin("deny"),
    x: () => {
      isExact.value = !isExact.value;
    },
    o: () => {
      folding.isOpen.value = true;
    },
    Escape: () => begin("first"),
  });
  // With hundreds of them, rendering all after each one was shown or answered would be slow.
  const list = useMemo(
    () =>
      all.map((confirmation, at) => (
        <Member
          key={`${confirmation.requestId} ${confirmation.digest}`}
          confirmation={confirmation}
          place={`${at + 1} of ${all.length}`}
          isExact={isExact.value}
          onShown={() => {
            shown.value = new Set([...shown.peek(), confirmation.requestId]);
          }}
        />
      )),
    [all, isExact.value],
  );
  return (
    <FoldingContext.Provider value={folding}>
      <aside class="panel confirmation" aria-label="Confirmations together">
        <section class="reading" aria-label="What is asked" tabIndex={0} ref={reading}>
          <p role="status">{result}</p>
          <Problem of={problem} />
          {list}
        </section>
        <div class="actions">
          {step.value === "first" && !hasEnded && (
            <>
              <p class="quiet" role="status">
                {unseen.length === 0 ? "Each was shown." : `${unseen.length} not shown yet.`}
              </p>
              <p class="buttons first">
                <button type="button" onClick={() => begin("allow")} disabled={unseen.length > 0}>
                  Allow {all.length}… (a)
                </button>
                <button type="button" class="minor" onClick={next} disabled={unseen.length === 0}>
                  Next (n)
                </button>
                <button type="button" onClick={() => begin("deny")}>
                  Deny {all.length}… (d)
                </button>
              </p>
            </>
          )}
          {step.value !== "first" && (
            <ConfirmForm
              key={step.value}
              decision={step.value}
              isBusy={isBusy.value}
              onAnswer={(given) => void answer(given)}
              onCancel={() => begin("first")}
            >
              these {count(all.length, "call")} with the arguments above? {isBusy.value && progress}
            </ConfirmForm>
          )}
        </div>
      </aside>
    </FoldingContext.Provider>
  );
}

function Member({
  confirmation,
  place,
  isExact,
  onShown,
}: {
  readonly confirmation: OpenConfirmation;
  readonly place: string;
  readonly isExact: boolean;
  readonly onShown: () => void;
}): JSX.Element {
  const isNear = useSignal(false);
  const { value, problem } = useLoaded(isNear.value, async () =>
    isNear.peek() ? await readWhole(confirmation) : undefined,
  );
  const article = useRef<HTMLElement>(null);
  const end = useRef<HTMLParagraphElement>(null);
  const whole = value.value;
  useOnceInView(article, true, "100%", () => {
    isNear.value = true;
  });
  useOnceInView(end, whole !== undefined, "0px", onShown);
  return (
    <article ref={article} class={whole === undefined ? "unread" : ""}>
      <h2>
        <Foreign text={confirmation.toolName} /> <Badge word={confirmation.sideEffects} />{" "}
        <span class="quiet">{place}</span>
      </h2>
      <Problem of={problem} />
      {whole !== undefined && <ConfirmationFacts confirmation={whole} isExact={isExact} />}
      <p ref={end} id={`end-${confirmation.requestId}`} class="end" />
    </article>
  );
}

/** Calls a function when an element is less than a margin away from what is in view. */
function useOnceInView(
  of: RefObject<HTMLElement | null>,
  isWanted: boolean,
  margin: string,
  onSeen: () => void,
): void {
  useLayoutEffect(() => {
    const element = of.current;
    if (!isWanted || element === null) return;
    const observer = new IntersectionObserver(
      (entries) => {
        if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
        observer.disconnect();
        onSeen();
      },
      { root: element.closest(".reading"), rootMargin: `${margin} 0px` },
    );
    observer.observe(element);
    return () => observer.disconnect();
  }, [isWanted]);
}
