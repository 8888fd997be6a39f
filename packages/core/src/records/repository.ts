/** A URL scheme, such as `https://` or `git+ssh://`, also after the helper in `hg::https://`. */
const SCHEME = /^[^/\\@]*:\/\//;
/** Git runs what follows as a command, whose arguments may be secret. */
const COMMAND = /^ext::/i;
/** User and password at the beginning of any part of an address that is not written as git wants it. */
const CREDENTIALS = /(?<=^|[/\\])[^/\\@:]*:[^/\\@]*@/g;
/** The user of `git@host:path`, which is not a secret. */
const PLAIN_USER = /^[\w.-]+$/;

/**
 * A repository's address without credentials. Removes the user name, password, query and fragment of a URL. SSH's short
 * form, `git@host:path`, keeps its user. Names that are not addresses (`owner/name`, a folder) stay unchanged. Null for
 * a command (`ext::`).
 */
export function toRepositoryUrl(address: string | null): string | null {
  const text = address?.trim().replace(/[?#].*$/s, '') ?? '';
  const scheme = SCHEME.exec(text)?.[0] ?? '';
  const rest = text.slice(scheme.length);
  const host = withoutUser(rest, scheme === '').replace(CREDENTIALS, '');
  return host === '' || COMMAND.test(text) ? null : scheme + host;
}

function withoutUser(rest: string, keepsPlainUser: boolean): string {
  const end = rest.search(/[/\\]/);
  const authority = end === -1 ? rest : rest.slice(0, end);
  const at = authority.lastIndexOf('@');
  if (at >= 0) {
    const isPlain = keepsPlainUser && PLAIN_USER.test(authority.slice(0, at));
    return isPlain ? rest : rest.slice(at + 1);
  }
  // Text that looks like a host and port may be a user and the beginning of a password, cut or containing a slash.
  const hasPassword = /^[^:]+:(?!\d*$)/.test(authority) && !keepsPlainUser;
  if (!hasPassword) return rest;
  return rest.includes('@') ? rest.slice(rest.lastIndexOf('@') + 1) : '';
}
