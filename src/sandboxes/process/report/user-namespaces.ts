import { readFileSync } from "node:fs";

/** Settings of the kernel that decide who may create user namespaces; `undefined` where the kernel does not have one. */
export interface UserNamespaces {
  /** `user.max_user_namespaces` */
  readonly max: number | undefined;
  /** `kernel.unprivileged_userns_clone`, of Debian's kernels. */
  readonly unprivilegedClone: number | undefined;
  /** `kernel.apparmor_restrict_unprivileged_userns`, of Ubuntu's kernels. */
  readonly apparmorRestricts: number | undefined;
}

export function readUserNamespaces(): UserNamespaces {
  return {
    max: numberIn("/proc/sys/user/max_user_namespaces"),
    unprivilegedClone: numberIn("/proc/sys/kernel/unprivileged_userns_clone"),
    apparmorRestricts: numberIn("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"),
  };
}

/** Returns what an administrator can do so that bubblewrap may create namespaces. */
export function namespaceRemedy(settings: UserNamespaces): string {
  const { max, unprivilegedClone, apparmorRestricts } = settings;
  if (max === 0) return "sysctl -w user.max_user_namespaces=15000";
  if (unprivilegedClone === 0) return "sysctl -w kernel.unprivileged_userns_clone=1";
  if (apparmorRestricts === 1)
    return "install the AppArmor profile bwrap-userns-restrict, or sysctl -w kernel.apparmor_restrict_unprivileged_userns=0";
  return "in a container, permit user namespaces: its seccomp or AppArmor profile forbids them";
}

function numberIn(file: string): number | undefined {
  try {
    return Number(readFileSync(file, "utf8"));
  } catch {
    return undefined;
  }
}
