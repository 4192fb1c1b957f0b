/** This process cannot give the network up. The message says what to do. */
export class DropNetworkError extends Error {
  override readonly name = "DropNetworkError";
}

/** What of Node's permission model is used here; `drop` is there since Node 26.3. */
interface Permissions {
  has(scope: string): boolean;
  drop?(scope: string): void;
}

/**
 * Tells whether this process can give the network up for good: under Node's permission model, and without threads,
 * since each new one would have it again.
 *
 * @throws {DropNetworkError}
 */
export function checkDropNetwork(): void {
  const { permission } = process as { readonly permission?: Permissions };
  if (permission === undefined) {
    throw new DropNetworkError("it needs Node's permission model: start node with --permission");
  }
  if (typeof permission.drop !== "function") throw new DropNetworkError("it needs Node 26.3 or later");
  if (permission.has("worker") || permission.has("child") || permission.has("addon")) {
    throw new DropNetworkError(
      "it needs node without --allow-worker, --allow-child-process and --allow-addons",
    );
  }
}

/**
 * Gives the network up for good: sockets that are open stay, no other one opens.
 *
 * @throws {DropNetworkError} as {@link checkDropNetwork}.
 */
export function dropNetwork(): void {
  checkDropNetwork();
  process.permission.drop("net");
  if (process.permission.has("net")) throw new DropNetworkError("Node keeps the permission all the same");
}
