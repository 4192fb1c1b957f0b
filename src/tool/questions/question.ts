/** A question of a tool to a person. */
export interface Question {
  /** 1 to 4,000 characters. People see it as the words of the tool, never as those of Sandgate. */
  readonly question: string;
  /** The answers to choose from: 1 to 100 different texts of 1 to 500 characters. Default: the answer is any text. */
  readonly choices?: readonly string[];
  /** Whether several choices can be given, at least one. Default: `false`. */
  readonly multiple?: boolean;
  /** Milliseconds for which the question waits for its answer. Never longer than the session waits. Default: as long. */
  readonly timeoutMs?: number;
}

/** A text of 1 to 16,000 characters; or, of a question with `choices`, one of them; with `multiple`, several. */
export type QuestionAnswer = string | readonly string[];

/**
 * Asks a person, and waits for the answer. While a person is asked, the wall time of the call stands still. An answer is
 * only information: it approves nothing.
 *
 * Rejects with a `ToolFailure`: `permission_denied` if nobody can be asked, `user_denied` if the person declines to answer,
 * `confirmation_timeout`, and `cancelled`. Rejects with a `TypeError` if the question is invalid.
 */
export interface Ask {
  (question: Question & { readonly multiple: true }): Promise<readonly string[]>;
  (question: Question & { readonly multiple?: false }): Promise<string>;
}
