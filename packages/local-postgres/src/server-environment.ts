/** For initdb and postgres: nothing of the caller's PG* variables, locale or time zone, which would end up in the cluster. */
export const serverEnvironment = { PATH: process.env.PATH ?? '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };
