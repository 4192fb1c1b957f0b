/** This process cannot drop the network. `message` says what to do. */
export class DropNetworkError extends Error {
  override readonly name = "DropNetworkError";
}

/** The part of Node's permission model that is used here. Node 26.3 added `drop`. */
interface Permissions {
  has(scope: string): boolean;
  drop?(scope: string): void;
}

/**
 * Checks that this process can drop the network for good: it needs Node's permission model, and must not be able to
 * start threads or processes or load addons, which would have the network again.
 *
 * @throws {DropNetworkError} if it cannot.
 */
export function checkDropNetwork(): void {
  const { permission } = process as { readonly permission?: Permissions };
  if (permission === undefined) {
    throw new DropNetworkError("it needs Node's permission model: start node with --permission");
  }
  if (typeof permission.drop !== "function") throw new DropNetworkError("it needs Node 26.3 or later");
  if (permission.has("worker") || permission.has("child") || permission.has("addon")) {
    throw new DropNetworkError(
      "node must not be started with --allow-worker, --allow-child-process or --allow-addons",
    );
  }
}

/**
 * Drops the network for good. Open sockets stay open, but no new ones can be opened.
 *
 * @throws {DropNetworkError} like {@link checkDropNetwork}.
 */
export function dropNetwork(): void {
  checkDropNetwork();
  process.permission.drop("net");
  if (process.permission.has("net")) throw new DropNetworkError("Node did not drop the permission");
}
