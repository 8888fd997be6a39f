/**
 * Settings that recount relies on, whatever the server, the database or the role has as defaults: READ COMMITTED,
 * because statements wait for each other's rows instead of failing; the text forms of timestamps, intervals, floats
 * and bytes that the driver reads; and UTC.
 */
const SESSION_SETTINGS: Readonly<Record<string, string>> = {
  default_transaction_isolation: 'read committed',
  default_transaction_deferrable: 'off',
  DateStyle: 'ISO, MDY',
  IntervalStyle: 'postgres',
  TimeZone: 'UTC',
  extra_float_digits: '1',
  bytea_output: 'hex',
  standard_conforming_strings: 'on',
  array_nulls: 'on',
  transform_null_equals: 'off',
};

/** Sets them for a session. A statement, not startup options, because pgbouncer refuses connections with these. */
export const SET_SESSION = Object.entries(SESSION_SETTINGS)
  .map(([name, value]) => `SET ${name} = '${value}'`)
  .join('; ');

/** Condition that the server can notice that a client has closed its connection. On Windows the server cannot. */
export const CAN_CHECK_CLIENTS = `version() !~* 'windows|mingw|visual c'`;
