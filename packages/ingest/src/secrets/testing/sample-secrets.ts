const repeat = (characters: string, length: number): string => characters.repeat(length).slice(0, length);

/** Assembled from parts, so that secret scanners do not report this repository. */
export const GITHUB_TOKEN = `ghp_${repeat('a1B2c3D4e5', 36)}`;
export const SLACK_TOKEN = `xoxb-${repeat('1234567890', 12)}-${repeat('aZ09bY18', 24)}`;
export const AWS_SECRET = repeat('wJalrXUtnFEMIbPxRfiCY0123', 40);
export const NPM_TOKEN = `npm_${repeat('Q1w2E3r4T5', 36)}`;
export const PASSWORD = `Tr0ub4dor${repeat('x7', 4)}`;
export const DATABASE_URL = `postgresql://ada:${PASSWORD}@db.internal:5432/app?sslmode=require`;
export const PRIVATE_KEY = [
  `-----BEGIN RSA ${'PRIVATE'} KEY-----`,
  ...Array.from({ length: 24 }, (_, line) => repeat(line === 0 ? 'MIIEpAIBAAKCAQEA7x' : 'Zm9vYmFyQmF6MTIz', 64)),
  `-----END RSA ${'PRIVATE'} KEY-----`,
].join('\n');
