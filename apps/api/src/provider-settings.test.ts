import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readApiConfig } from './config.ts';
import { readProviderSettings } from './provider-settings.ts';

const ACME = {
  ...{ id: 'acme', name: 'Acme', issuer: 'https://id.example', client_id: 'recount', default_role: 'viewer' },
};
const directory = mkdtempSync(join(tmpdir(), 'recount-providers-'));
let count = 0;
function write(content: unknown): string {
  const path = join(directory, `${++count}.json`);
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}
const read = (provider: object, environment = {}) =>
  readProviderSettings(write({ providers: [{ ...ACME, ...provider }] }), environment);

describe('settings of OpenID providers', () => {
  it('have defaults, and secrets from a variable or a file', () => {
    expect(read({})).toMatchObject([
      { scopes: ['openid', 'profile', 'email', 'offline_access'], workspace: 'default', clientSecret: undefined },
    ]);
    expect(read({ client_secret_env: 'ACME' }, { ACME: ' s ' })).toMatchObject([{ clientSecret: 's' }]);
    expect(read({ client_secret_file: write('from a file\n') })).toMatchObject([{ clientSecret: 'from a file' }]);
    expect(() => read({ client_secret_env: 'ACME' })).toThrow('the variable ACME (client_secret_env) is not set');
    expect(() => read({ client_secret_file: '/none' })).toThrow('the file /none (client_secret_file) cannot be read');
    expect(() => read({ client_secret_file: write('') })).toThrow('is empty');
    expect(() => read({ client_secret_file: '/none', client_secret_env: 'ACME' })).toThrow('exclude each other');
  });

  it('name issuers by https, or by http on this machine', () => {
    for (const issuer of ['http://localhost:8080', 'http://127.0.0.1/realms/x', 'http://[::1]:1'])
      expect(read({ issuer })).toMatchObject([{ issuer }]);
    const others = ['http://id.example', 'http://127.0.0.1.example', 'http://localhost.example', 'ftp://localhost'];
    for (const issuer of [...others, 'https://a:b@id.example', 'https://id.example?x', 'id.example'])
      expect(() => read({ issuer }), issuer).toThrow('providers.0.issuer');
  });

  it('are refused with the field at fault', () => {
    expect(() => read({ role: 'x' })).toThrow('Unrecognized key');
    expect(() => read({ default_role: undefined })).toThrow('or default_role must be set');
    expect(() => read({ default_role: 'operator' })).toThrow('default_role');
    expect(() => read({ scopes: ['email'] })).toThrow('must include openid');
    expect(() => read({ id: 'A b' })).toThrow('small letters');
    for (const name of ['state', 'redirect_uri', 'code_challenge', 'max_age'])
      expect(() => read({ parameters: { [name]: 'x' } })).toThrow('parameters');
    expect(() => readProviderSettings(write({ providers: [ACME, ACME] }), {})).toThrow(
      'two providers have the id acme',
    );
    expect(() => readProviderSettings(write('{'), {})).toThrow('is not JSON');
    expect(() => readProviderSettings('/none', {})).toThrow('cannot be read');
  });

  it('need a key for secrets', () => {
    const environment = { DATABASE_URL: 'postgres://nowhere/none', RECOUNT_RAW_STORE: '/nowhere' };
    const path = write({ providers: [ACME] });
    expect(() => readApiConfig({ ...environment, RECOUNT_OIDC_PROVIDERS: path })).toThrow('needs RECOUNT_SECRET_KEY');
    const key = Buffer.alloc(32).toString('base64');
    const config = readApiConfig({ ...environment, RECOUNT_OIDC_PROVIDERS: path, RECOUNT_SECRET_KEY: key });
    expect(config.oidc).toMatchObject({ providers: [{ id: 'acme' }], checkIntervalMs: 300_000 });
  });
});
