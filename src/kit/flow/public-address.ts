// Decides whether an address belongs to the public internet. A name in DNS can lead to any address: to servers of this machine,
// of its network, or to the metadata of a cloud. A tool must not reach those by the name of another owner.
import { BlockList, isIP } from "node:net";

const privateNetworks: [string, number][] = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 3],
];
/** Public IPv6 addresses are in 2000::/3. These parts of it are tunnels to IPv4, benchmarks and examples. */
const privateNetworks6: [string, number][] = [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20],
];

const denied = new BlockList();
for (const [network, bits] of privateNetworks) denied.addSubnet(network, bits, "ipv4");
for (const [network, bits] of privateNetworks6) denied.addSubnet(network, bits, "ipv6");
const global6 = new BlockList();
global6.addSubnet("2000::", 3, "ipv6");

/** False for anything that is no address. */
export function isPublicAddress(address: string): boolean {
  const version = isIP(address);
  if (version === 4) return !denied.check(address, "ipv4");
  return version === 6 && !address.includes("%") && global6.check(address, "ipv6") && !denied.check(address, "ipv6");
}

const machine = new BlockList();
for (const [network, bits] of [
  ["127.0.0.0", 8],
  ["0.0.0.0", 8],
  ["169.254.0.0", 16],
] as const)
  machine.addSubnet(network, bits, "ipv4");
for (const [network, bits] of [
  ["::1", 128],
  ["::", 128],
  ["fe80::", 10],
] as const)
  machine.addSubnet(network, bits, "ipv6");

/** True for an address of this machine or of its link, such as the metadata of a cloud. */
export function isMachineAddress(address: string): boolean {
  const bare = address.replace(/%.*$/, "");
  const version = isIP(bare);
  return version !== 0 && machine.check(bare, version === 4 ? "ipv4" : "ipv6");
}
