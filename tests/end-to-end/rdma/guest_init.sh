#!/bin/busybox sh
# SPDX-License-Identifier: Apache-2.0
# The first process of the guest: two network namespaces with a software RDMA adapter each, joined by
# odp_wire, and `weft odp bench` between them. Prints "RESULT NAME EXIT-CODE" and each command's
# output, a line each; rdma_test.sh judges that. Ends by switching the guest off.
/bin/busybox mkdir -p /sbin /run /proc /sys /dev /tmp
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /tmp
mkdir -p /run/netns /dev/shm
mount -t tmpfs tmpfs /dev/shm

for module in $(cat /modules/order); do
  insmod "/modules/$module.ko" || echo "FAILED module $module"
done

ip=/usr/sbin/ip rdma=/usr/bin/rdma

# until_done WHAT COMMAND…: a limited number of tries, a tenth of a second apart.
until_done() {
  what=$1 tries=300
  shift
  until "$@" >/dev/null 2>&1; do
    tries=$((tries - 1))
    if [ "$tries" = 0 ]; then
      echo "FAILED $what"
      poweroff -f
    fi
    usleep 100000
  done
}

# connect RULE CAPTURE: the two hosts, on a cable of that rule. A GID for IPv4 appears some time after the address.
connect() {
  /bin/odp_wire "$1" "/tmp/$2.pcap" > /tmp/wire.out &
  wire=$!
  until_done "wire $1" grep -q ready /tmp/wire.out
  for host in a:1 b:2; do
    name=${host%:*}
    $ip netns add "$name"
    $ip link set "tap$name" netns "$name"
    $ip -n "$name" link set lo up
    $ip -n "$name" addr add "10.0.0.${host#*:}/24" dev "tap$name"
    $ip -n "$name" link set "tap$name" up
    $ip netns exec "$name" $rdma link add "rxe_$name" type rxe netdev "tap$name" || echo "FAILED rxe"
    until_done "GID of $name" $ip netns exec "$name" \
      grep -q "ffff:0a00:000${host#*:}" "/sys/class/infiniband/rxe_$name/ports/1/gids/1"
  done
  until_done "neighbours" $ip netns exec a ping -c 1 -W 1 10.0.0.2
}
# With the wire its devices go, and the adapters on them.
disconnect() {
  kill "$wire"
  wait "$wire"
  for name in a b; do
    until_done "rxe_$name gone" [ ! -e "/sys/class/infiniband/rxe_$name" ]
    $ip netns del "$name"
  done
}

# result NAME COMMAND…: runs the command and prints its output between marks.
result() {
  name=$1
  shift
  timeout 100 "$@" > /tmp/out 2>&1
  echo "RESULT $name $?"
  cat /tmp/out
  echo "END $name"
}
# `ip netns exec` would mount a /sys without the adapters' counters.
bench() {
  name=$1
  shift
  result "$name" nsenter --net=/run/netns/a /bin/weft odp bench 10.0.0.2:7471 --device rxe_a "$@"
}
serve() {
  nsenter --net=/run/netns/b /bin/weft odp bench --listen 7471 --device rxe_b > /tmp/server.out 2>&1 &
  server=$!
  until_done "server" grep -q listens /tmp/server.out
}

echo
echo "RESULT kernel 0"
uname -r
echo "END kernel"

# Without an adapter, before there is any.
result no_device /bin/weft odp bench --listen 7471

connect pass pass
serve
# A stranger's bytes are refused, and the next client is served.
printf 'GET / HTTP/1.1\r\n\r\n' > /tmp/request
$ip netns exec a nc 10.0.0.2 7471 < /tmp/request > /tmp/answer 2>&1
# Timeouts long enough for the pauses of an emulated machine.
bench pinned --odp none --num-ops 64 --num-qps 4 --size 4096 --ack-timeout 18 --json
bench paged --odp both --num-ops 64 --num-qps 4 --size 4096 --ack-timeout 18 --json
bench client_paged --odp client --num-ops 8 --ack-timeout 18 --json
bench prefetched --odp both --prefetch --num-ops 8 --ack-timeout 18 --json
bench many --odp both --num-ops 512 --num-qps 128 --size 32 --ack-timeout 18 --json
bench text --odp both --num-ops 2 --interval 1ms --ack-timeout 18
bench timeouts --timeouts 12..16 --retries 3 --json
kill -TERM "$server"
wait "$server"
echo "RESULT server $?"
cat /tmp/server.out
echo "END server"
bench no_server --num-ops 2
# A program on plain ibverbs, alone and behind 40 ms more.
for how in poll sleep; do
  ping_pong="/bin/verbs_pingpong a rxe_a b rxe_b $how"
  result "verbs_native_$how" $ping_pong
  result "verbs_emulated_$how" /bin/weft emulate --latency +40ms --json /tmp/emulated.json -- $ping_pong
  result "verbs_json_$how" cat /tmp/emulated.json
done
disconnect
result diagnose_pass /bin/weft odp diagnose /tmp/pass.pcap --json

# Of two READs the second stalls until its timeout; a third behind it draws a sequence NAK instead.
damming() {
  connect damming "$1"
  serve
  bench "$@" --odp both --interval 100ms --json
  kill -TERM "$server"
  wait "$server"
  disconnect
  result "diagnose_$1" /bin/weft odp diagnose "/tmp/$1.pcap" --json
}
damming damming --num-ops 2 --ack-timeout 17
damming rescued --num-ops 3 --ack-timeout 20
for name in damming rescued; do
  echo "RESULT capture_$name 0"
  base64 "/tmp/$name.pcap"
  echo "END capture_$name"
done
echo "RESULT end 0"
echo "END end"
poweroff -f
