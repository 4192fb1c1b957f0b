import type { Operator } from "../access/client.ts";

/** The console of a server: a page for people who watch its calls and answer its questions. */
export interface ServedConsole {
  /** The folder of the built page. Default: the page of this package. */
  readonly page?: string;
  /**
   * Who logs in with the tokens of `Server.issueConsoleToken`; its roles must not have `caller`. Default: one logs in with the
   * bearer tokens of credentials only.
   */
  readonly operator?: Operator;
}
