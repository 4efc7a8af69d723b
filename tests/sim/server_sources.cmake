# The simulated Redis server: of the simulator, of the tests of sim/, and of the test kit (lib/testing).
set(sim_server_sources
  sim/commands.cpp
  sim/conditions.cpp
  sim/connection_commands.cpp
  sim/connections.cpp
  sim/data_commands.cpp
  sim/database.cpp
  sim/database_view.cpp
  sim/introspection.cpp
  sim/known_scripts.cpp
  sim/requests.cpp
  sim/script_mutants.cpp
  sim/script_run.cpp
  sim/server.cpp
  sim/server_run.cpp)
