import { Egress, type EgressOptions } from "../../egress/egress.ts";
import { CredentialFile } from "../oauth/credential-file.ts";
import type { OAuthOptions } from "../oauth/oauth-options.ts";
import { httpConnection } from "./open-connection.ts";
import type { HttpServerOptions } from "./server-options.ts";

/** A server with OAuth options. */
export type OAuthServerOptions = HttpServerOptions & { readonly oauth: OAuthOptions };

/** How a person logs in. */
export interface LogInOptions {
  readonly egress?: EgressOptions;
  /** Ends the login. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Discards the tokens for a server and gets new ones. The registration of the client is preserved.
 *
 * @returns the file with the tokens; `undefined` if the server does not require any.
 * @throws {Error} if tokens cannot be obtained. `message` is for operators.
 */
export async function logIn(
  name: string,
  server: OAuthServerOptions,
  { egress: options, signal }: LogInOptions = {},
): Promise<string | undefined> {
  const file = credentialFile(name, server);
  const { client } = await file.read();
  if (client !== undefined) await file.write({ client });
  else await file.remove();
  const egress = new Egress(options);
  const connection = httpConnection(name, server, { egress });
  try {
    await connection.wire(signal);
    return (await file.read()).tokens === undefined ? undefined : file.path;
  } finally {
    await connection.close();
    await egress.close();
  }
}

/** Discards the tokens for a server and the registration of the client. Returns whether there were any. */
export function logOut(name: string, server: OAuthServerOptions): Promise<boolean> {
  return credentialFile(name, server).remove();
}

function credentialFile(name: string, { url, oauth }: OAuthServerOptions): CredentialFile {
  return new CredentialFile(oauth.directory, name, url);
}
