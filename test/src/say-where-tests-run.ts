/**
 * Prints whether end-to-end tests and chaos run on a Citus cluster. Some still use a separate server, because they fill
 * its disk, or install one.
 */
export function setup(): void {
  const isOnCitus = Boolean(process.env.RECOUNT_TEST_CITUS_URL);
  console.log(
    isOnCitus
      ? 'Run against Citus: the end-to-end tests that need no server of their own'
      : 'Not run against Citus: RECOUNT_TEST_CITUS_URL names no coordinator of a cluster',
  );
}
