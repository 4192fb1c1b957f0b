/** Where the machine has what Sandgate adds to an image. */
export const GUEST_DIRECTORY = "sandgate";

/** The kernel modules of the ports, in the order in which they must be loaded, by their paths below `drivers`. */
export const PORT_MODULES: readonly string[] = [
  "virtio/virtio_ring",
  "virtio/virtio",
  "virtio/virtio_pci_modern_dev",
  "virtio/virtio_pci_legacy_dev",
  "virtio/virtio_pci",
  "char/virtio_console",
];

/** What the script writes to the control port when the machine can be saved. */
export const READY_LINE = "ready";

/** Directories in which a command without a slash is looked up. */
const PROGRAM_DIRECTORIES = "/usr/local/bin /usr/bin /bin";

/**
 * The first process of a machine, a script for the shell of busybox. The ports are the files `/dev/vport0pN`: 1 control,
 * 2 the standard input of the command, 3 its standard output, 4 its standard error.
 *
 * The machine is saved while the script waits for the message of a call, so that everything that takes long has been done:
 * the processes that copy between the ports and the command's pipes run already. Only root can open the ports. The command
 * runs as another user in a control group, which is killed before the output counts as complete.
 */
export const INIT_SCRIPT: string = `#!/${GUEST_DIRECTORY}/busybox sh
b=/${GUEST_DIRECTORY}/busybox
run=/${GUEST_DIRECTORY}/run
group=/${GUEST_DIRECTORY}/groups/tool
spare=/${GUEST_DIRECTORY}/groups/spare
unset TERM
export PATH=/usr/local/bin:/usr/bin:/bin HOME=/tmp LANG=C.UTF-8

$b mount -t devtmpfs -o nosuid,noexec none /dev
$b mount -t proc -o nosuid,nodev,noexec none /proc
$b mount -t sysfs -o ro,nosuid,nodev,noexec none /sys
$b mount -t tmpfs -o nosuid,nodev,mode=1777 none /tmp
$b mount -t tmpfs -o nosuid,nodev,noexec,mode=0700 none $run
$b mount -t cgroup2 none \${group%/*}
echo '+memory +pids' >\${group%/*}/cgroup.subtree_control
$b mkdir $group $spare
echo 1 >$group/memory.oom.group
echo 0 >/proc/sys/user/max_user_namespaces
for module in /${GUEST_DIRECTORY}/modules/*; do $b insmod $module; done
$b --install -s /bin 2>/dev/null
until [ -c /dev/vport0p4 ]; do $b usleep 10000; done
# Reading would find an end before the host is connected; writing waits for it.
for port in 1 2 3 4; do echo >/dev/vport0p$port; done
$b mkfifo -m 0600 $run/in $run/out $run/err $run/rehearsal
$b chown 1000:1000 $run/in $run/out $run/err
$b mount -o remount,ro /

# The pipes stay open until the command has them, so that nothing written is lost.
exec 3<>/dev/vport0p1 4<>/dev/vport0p3 5<>$run/out 6<>$run/err 7<>$run/in
$b cat </dev/vport0p2 >&7 3>&- 4>&- 5>&- 6>&- 7>&- &
$b cat <$run/out >&4 3>&- 4>&- 5>&- 6>&- 7>&- &
out=$!
$b cat <$run/err >/dev/vport0p4 3>&- 4>&- 5>&- 6>&- 7>&- &
err=$!
# The host is gone when the port is closed.
{ read -r _ <&4; $b reboot -f; } 3>&- 5>&- 6>&- 7>&- &
(
  echo 0 >$group/cgroup.procs
  until
    message=$(/${GUEST_DIRECTORY}/refresh <&3 3>/dev/urandom) || $b reboot -f
    eval "$message"
    [ $# -gt 0 ]
  do
    # QEMU translates the code of a machine when it first runs: what a call needs is run before there is one.
    echo 0 >$group/cgroup.procs
    echo max >$group/memory.max
    echo max >$group/pids.max
    echo >$run/token
    read -r token <$run/token
    $b cat <$run/token >$run/rehearsal &
    read -r _ <$run/rehearsal
    wait $!
    echo | /${GUEST_DIRECTORY}/start /bin/cat 3>&- >/dev/null
    while read -r name count; do [ $name = oom_kill ] && killed=$count; done <$group/memory.events
    read -r peak <$group/memory.peak
    echo 1 >$spare/cgroup.kill
    echo ${READY_LINE} >&3
  done
  echo $memory >$group/memory.max
  echo $processes >$group/pids.max
  echo $token >$run/token
  case $1 in
  */*) program=$1 ;;
  *) for directory in ${PROGRAM_DIRECTORIES}; do
    [ -x $directory/$1 ] && program=$directory/$1 && break
  done ;;
  esac
  [ -x "$program" ] || { echo "The image has no program '$1'" >&2; exit 127; }
  shift
  cd /tmp
  exec /${GUEST_DIRECTORY}/start "$program" "$@" 3>&-
) <$run/in >$run/out 2>$run/err 4>&- 5>&- 6>&- 7>&- &
command=$!
exec 7>&-
echo ${READY_LINE} >&3
wait $command
code=$?
read -r token <$run/token
echo 1 >$group/cgroup.kill
exec 5>&- 6>&-
wait $out $err
killed=0
while read -r name count; do [ $name = oom_kill ] && killed=$count; done <$group/memory.events
read -r peak <$group/memory.peak
echo $token $code $killed $peak >&3
while :; do $b sleep 1000; done
`;
