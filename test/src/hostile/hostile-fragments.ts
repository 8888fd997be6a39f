const NESTING = 100_000;

/**
 * JSON to replace any value, which is out of range, of the wrong type, named like a prototype, as large as is
 * plausible.
 */
export const HOSTILE_VALUES: readonly Buffer[] = [
  '1e400',
  '-1e400',
  '-0',
  '0.1',
  '-1',
  '5e-324',
  '1e308',
  '100000000',
  '2147483648',
  '9007199254740993',
  '9223372036854775807',
  '9223372036854775808',
  '18446744073709551616',
  'null',
  'true',
  '[]',
  '{}',
  '""',
  '" "',
  '"__proto__"',
  '"constructor"',
  '"toString"',
  '"assistant"',
  '"user"',
  '"tool_use"',
  '"tool_result"',
  '"\\u0000"',
  '"a\\u0000\\ud800b\\udc00"',
  '"\\ud83d\\ude00"',
  '"0000-01-01T00:00:00Z"',
  '"1969-12-31T23:59:59.999Z"',
  '"9999-12-31T23:59:59.999Z"',
  '"9999-12-31T23:59:59.999-12:00"',
  '"+275760-09-13T00:00:00Z"',
  '"2026-02-30T25:61:61Z"',
  '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}',
  '[{"type":"text","text":"\\u0000"},"text",5,null,[[]],{"type":"__proto__"},{"type":"tool_use","input":[1e400]}]',
  '{"input_tokens":100000000,"output_tokens":-1,"cache_creation":{"ephemeral_1h_input_tokens":1e400},"iterations":[{"type":"advisor_message","input_tokens":7},{"type":"advisor_message","model":"\\ud800"}]}',
  '{"input_tokens":5,"output_tokens":9223372036854775807,"server_tool_use":{"web_search_requests":1000000000}}',
  `"${'漢'.repeat(600)}"`,
  `"${'😀'.repeat(600)}"`,
].map((text) => Buffer.from(text));

/** Too large to be used as often as the others. */
export const LARGE_HOSTILE_VALUES: readonly Buffer[] = [
  `${'['.repeat(NESTING)}${']'.repeat(NESTING)}`,
  `${'{"a":'.repeat(300)}1${'}'.repeat(300)}`,
  `"${'\\u0000'.repeat(50_000)}"`,
  `"${'é'.repeat(300_000)}"`,
  `[${'{"type":"text"},'.repeat(11_000)}0]`,
].map((text) => Buffer.from(text));

/**
 * Inserted right after an opening brace. They are names that mean something to JavaScript, and names that the object
 * already has.
 */
export const HOSTILE_MEMBERS: readonly Buffer[] = [
  '"__proto__":{"type":"user","polluted":1},',
  '"constructor":{"prototype":{"polluted":1}},',
  '"hasOwnProperty":1,',
  '"toString":null,"valueOf":[],',
  '"type":"assistant",',
  '"type":"__proto__",',
  '"id":"msg_1",',
  '"id":5,',
  '"uuid":"u","uuid":"v",',
  '"message":{"id":"m","usage":{"input_tokens":1}},',
  '"usage":{"output_tokens":3},',
  '"session_id":"s",',
  '"parent_tool_use_id":"t",',
  '"":0,',
  '"\\u0000":1,"\\ufffd":2,',
].map((text) => Buffer.from(text));

/** Bytes that are not UTF-8, not JSON, or not a line. */
export const HOSTILE_BYTES: readonly Buffer[] = [
  Buffer.from([0xc0, 0x80]),
  Buffer.from([0xc1, 0xbf]),
  Buffer.from([0xe0, 0x80, 0xaf]),
  Buffer.from([0xf0, 0x80, 0x80, 0x80]),
  Buffer.from([0xed, 0xa0, 0x80]),
  Buffer.from([0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80]),
  Buffer.from([0xf4, 0x90, 0x80, 0x80]),
  Buffer.from([0xf8, 0x88, 0x80, 0x80, 0x80]),
  Buffer.from([0xff, 0xfe]),
  Buffer.from([0xf0, 0x9f, 0x8e]),
  Buffer.from([0x80]),
  Buffer.from([0x00]),
  ...[
    '\uFEFF',
    '\u2028',
    '\r\n',
    '\n',
    '\n\n\n',
    '\\',
    '"',
    '\\u0000',
    '\\ud800',
    '{',
    '}',
    '[',
    ']',
    ',',
    '\t',
    '\u001b[2J',
  ].map((text) => Buffer.from(text)),
];
