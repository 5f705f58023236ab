// The little of Node that is used, so that the package needs no types of it.
declare module "node:crypto" {
  export function createHash(algorithm: "sha256"): {
    update(text: string, encoding: "utf8"): { digest(encoding: "hex"): string };
  };
}
