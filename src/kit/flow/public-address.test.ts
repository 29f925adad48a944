import { expect, test } from "bun:test";
import { isPublicAddress } from "./public-address.ts";

test("addresses of the internet are public", () => {
  const addresses = ["1.1.1.1", "93.184.216.34", "172.32.0.1", "223.255.255.255", "2606:4700::1111", "2a00:1450:4001:82b::200e"];
  expect(addresses.filter((address) => !isPublicAddress(address))).toEqual([]);
});

test("addresses of this machine, of a private network and of a cloud's metadata are not public, in every notation", () => {
  const addresses = [
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "100.64.0.1",
    "127.0.0.1",
    "127.255.255.254",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "198.18.0.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "192.0.0.192",
    "::",
    "::1",
    "::ffff:127.0.0.1",
    "::ffff:7f00:1",
    "::ffff:1.1.1.1",
    "::127.0.0.1",
    "64:ff9b::7f00:1",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
    "2002:7f00:1::",
    "2001::1",
    "2001:db8::1",
    "100::1",
  ];
  expect(addresses.filter(isPublicAddress)).toEqual([]);
});

test("a text that is no address is not public", () => {
  expect(["", "localhost", "127.1", "0x7f000001", "1.1.1.1.", "1.1.1"].filter(isPublicAddress)).toEqual([]);
});
