// An ElectroDB program for the tests: one JSON request a line on its input, one JSON answer a line on its output.
// NODE_PATH says where electrodb and @aws-sdk/client-dynamodb are installed.
"use strict";

const { createInterface } = require("node:readline");
const { DynamoDBClient } = require("@aws-sdk/client-dynamodb");
const { Entity } = require("electrodb");

const [endpoint, table] = process.argv.slice(2);
const client = new DynamoDBClient({
  endpoint,
  region: "us-east-1",
  credentials: { accessKeyId: "local", secretAccessKey: "local" },
  maxAttempts: 1,
});

const task = new Entity(
  {
    model: { entity: "Task", version: "1", service: "Office" },
    attributes: {
      team: { type: "string", required: true },
      taskId: { type: "string", required: true },
      done: { type: "boolean", required: true, default: false },
      points: { type: "number" },
      order: { type: "number", default: 0, padding: { length: 4, char: "0" } },
      tags: { type: "set", items: "string" },
      lines: {
        type: "list",
        items: { type: "map", properties: { what: { type: "string" }, price: { type: "number" } } },
      },
      note: { type: "string" },
    },
    indexes: {
      primary: { pk: { field: "pk", composite: ["team"] }, sk: { field: "sk", composite: ["taskId"] } },
      byState: {
        index: "gsi1",
        pk: { field: "gsi1pk", composite: ["done"] },
        sk: { field: "gsi1sk", composite: ["order", "taskId"] },
      },
    },
  },
  { client, table },
);

const steps = {
  put: (item) => task.put(item).go(),
  create: (item) => task.create(item).go(),
  get: (key) => task.get(key).go({ consistent: true }),
  list: (key) => task.query.primary(key).go(),
  byState: (key) => task.query.byState(key).go(),
  scan: () => task.scan.go(),
  patch: ({ key, set }) => task.patch(key).set(set).go({ response: "all_new" }),
  delete: (key) => task.delete(key).go(),
};

// a set is an array in JSON
const plain = (_, value) => (value instanceof Set ? [...value].sort() : value);

async function answer(line) {
  const [step, argument] = JSON.parse(line);
  try {
    return { data: (await steps[step](argument)).data };
  } catch (error) {
    return { error: String(error.message) };
  }
}

(async () => {
  for await (const line of createInterface({ input: process.stdin })) {
    process.stdout.write(`${JSON.stringify(await answer(line), plain)}\n`);
  }
  client.destroy();
})();
