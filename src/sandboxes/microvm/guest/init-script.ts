import { MICROVM_DEFAULTS } from "../microvm-limits.ts";
import { GROUP, GUEST_DIRECTORY, PEAK_FILE } from "./first-process.ts";

/** The kernel modules of the ports, in the order in which they must be loaded, by their paths below `drivers`. */
export const PORT_MODULES: readonly string[] = [
  "virtio/virtio_ring",
  "virtio/virtio",
  "virtio/virtio_pci_modern_dev",
  "virtio/virtio_pci_legacy_dev",
  "virtio/virtio_pci",
  "char/virtio_console",
];

/** A script for the shell of busybox, which sets up the machine and becomes its first process. */
export const INIT_SCRIPT: string = `#!/${GUEST_DIRECTORY}/busybox sh
b=/${GUEST_DIRECTORY}/busybox
group=${GROUP}
unset TERM
export PATH=/bin

$b mount -t devtmpfs -o nosuid,noexec none /dev
$b mount -t proc -o nosuid,nodev,noexec none /proc
$b mount -t sysfs -o ro,nosuid,nodev,noexec none /sys
$b mount -t tmpfs -o nosuid,nodev,mode=1777 none /tmp
$b mount -t tmpfs -o nosuid,nodev,noexec,mode=0700 none \${b%/*}/run
$b mount -t cgroup2 none \${group%/*}
echo '+memory +pids' >\${group%/*}/cgroup.subtree_control
$b mkdir $group
echo 1 >$group/memory.oom.group
echo ${MICROVM_DEFAULTS.memoryBytes} >$group/memory.max
echo ${MICROVM_DEFAULTS.processes} >$group/pids.max
# Kernels before 5.19 do not have it.
if [ -e $group/memory.peak ]; then $b ln -s $group/memory.peak ${PEAK_FILE}; else echo none >${PEAK_FILE}; fi
echo 0 >/proc/sys/user/max_user_namespaces
for module in /${GUEST_DIRECTORY}/modules/*; do $b insmod $module; done
$b --install -s /bin 2>/dev/null
until [ -c /dev/vport0p4 ]; do $b usleep 10000; done
# Reading would find an end before the host is connected; writing waits for it.
for port in 1 2 3 4; do echo >/dev/vport0p$port; done
$b mount -o remount,ro /
cd /tmp
exec /${GUEST_DIRECTORY}/first-process
`;
