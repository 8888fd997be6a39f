const OWN_ORIGIN = 'http://recount.invalid';

/**
 * A path of this server from a return address, `/` if it leads anywhere else. Decided by the parser that browsers use,
 * which drops tabs and line breaks and takes `\` for `/`.
 */
export function toReturnPath(next: string | undefined): string {
  const url = next?.startsWith('/') ? URL.parse(next, OWN_ORIGIN) : null;
  if (url === null || url.origin !== OWN_ORIGIN) return '/';
  const path = url.pathname + url.search + url.hash;
  // `/.//host` has become `//host`.
  return path.startsWith('//') ? '/' : path;
}
