import { EgressError, type EgressErrorCode } from "../egress-error.ts";

const STATUS: Partial<Record<EgressErrorCode, number>> = {
  request_invalid: 400,
  origin_denied: 403,
  address_denied: 403,
  budget_exceeded: 403,
  connect_timeout: 504,
};

/** Texts for the program and who reads its output, without addresses. */
const TEXTS: Partial<Record<EgressErrorCode, (origin: string) => string>> = {
  origin_denied: (origin) => `The grant of this call does not have the origin '${origin}' (net: [origin])`,
  address_denied: (origin) =>
    `The address of '${origin}' is not public, and the grant of this call does not have it`,
  budget_exceeded: () => "The network budget of this call (netBytes) is used up",
  name_not_resolved: (origin) => `The host of '${origin}' cannot be resolved`,
  connection_refused: (origin) => `'${origin}' refused the connection`,
  connect_timeout: (origin) => `'${origin}' did not accept a connection in time`,
};

/** What a proxy answers when it cannot pass a request on. */
export interface Refusal {
  readonly status: number;
  readonly text: string;
  /** For operators, if what was refused is not granted: it may name addresses. */
  readonly denied?: string;
}

/** @param origin Of the request's URL, if it has one. */
export function refusalOf(error: unknown, origin: string | undefined): Refusal {
  if (!(error instanceof EgressError))
    return { status: 502, text: "The server did not send a valid response\n" };
  const { code, message } = error;
  const status = STATUS[code] ?? 502;
  const named = origin === undefined ? undefined : TEXTS[code]?.(origin);
  const text = `${named ?? (status === 400 ? sentence(message) : `'${origin}' cannot be reached`)}\n`;
  return { status, text, ...(status === 403 && { denied: message }) };
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
