// Called on an installed page script (`this`) with its argument as JSON text; answers with the value itself.
async function (argument) {
  return this(JSON.parse(argument));
}
