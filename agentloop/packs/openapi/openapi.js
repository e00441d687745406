// require("<name>"): a function for each operation of an API, over the one primitive that sends.
const api = _openapi["api_" + module.id.replaceAll("-", "_")];

const operation = (name) => {
  const send = (params) => api.call(name, params);
  send.async = (params) => api.call.async(name, params);
  send.all = (list) => api.call.all(list.map((params) => ({ spread: [name, params] })));
  return Object.defineProperty(send, "name", { value: name });
};

for (const name of api.operations()) module.exports[name] = operation(name);
module.exports.help = (topic) => api.describe(topic);
