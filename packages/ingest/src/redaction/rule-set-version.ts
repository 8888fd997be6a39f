/** Version of the library: other versions may find other secrets. */
export const RULE_SET_VERSION = 'secretlint-13.0.7';
