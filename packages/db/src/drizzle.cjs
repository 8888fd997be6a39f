// drizzle-orm's CommonJS build. For each of the hundreds of ES modules that it also has, Node 24 parses the package's
// 180 KB package.json again: 0.8 s of every start, and 220 MB.
module.exports = {
  ...require('drizzle-orm'),
  ...require('drizzle-orm/pg-core'),
  ...require('drizzle-orm/node-postgres'),
  ...require('drizzle-orm/node-postgres/migrator'),
};
