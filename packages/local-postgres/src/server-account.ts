/** The user and group that PostgreSQL runs as, where they differ from those of this process. */
export interface ServerAccount {
  uid: number;
  gid: number;
}

/** PostgreSQL refuses to run as root. initdb demands that its user has a name: on Linux this one is nobody. */
const unprivilegedAccount: ServerAccount = { uid: 65_534, gid: 65_534 };

/** The account for a process of this user id: undefined, that is the same user, for everyone but root. */
export function chooseServerAccount(processUid: number | undefined): ServerAccount | undefined {
  return processUid === 0 ? unprivilegedAccount : undefined;
}
