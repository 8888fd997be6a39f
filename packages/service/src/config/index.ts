export { ConfigError, type Environment, integer, port, readEnvironment } from './environment.ts';
export * from './service-config.ts';
