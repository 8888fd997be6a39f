/** Version of the library, and of recount's own rules. Other versions may find other secrets. */
export const RULE_SET_VERSION = 'secretlint-13.0.7+7';
