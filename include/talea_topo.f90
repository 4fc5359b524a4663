! Performance values on the machine's topology, from inside a Fortran program: compile this file with it and link with
! -ltalea_topo. What the functions do stands in talea_topo.h. Texts end with c_null_char; c_null_ptr stands for none.
module talea_topo
    use, intrinsic :: iso_c_binding
    implicit none

    interface
        function load_Monitors_from_config(topology, monitors_file, output_file, accumulate) &
                bind(c, name="load_Monitors_from_config") result(monitors)
            import :: c_ptr, c_int
            type(c_ptr), value :: topology, monitors_file, output_file
            integer(c_int), value :: accumulate
            type(c_ptr) :: monitors
        end function

        function Monitors_watch_pid(monitors, pid) bind(c, name="Monitors_watch_pid") result(code)
            import :: c_ptr, c_int
            type(c_ptr), value :: monitors
            integer(c_int), value :: pid
            integer(c_int) :: code
        end function

        function Monitors_start(monitors) bind(c, name="Monitors_start") result(code)
            import :: c_ptr, c_int
            type(c_ptr), value :: monitors
            integer(c_int) :: code
        end function

        function Monitors_update_counters(monitors) bind(c, name="Monitors_update_counters") result(code)
            import :: c_ptr, c_int
            type(c_ptr), value :: monitors
            integer(c_int) :: code
        end function

        subroutine delete_Monitors(monitors) bind(c, name="delete_Monitors")
            import :: c_ptr
            type(c_ptr), value :: monitors
        end subroutine

        subroutine Monitors_set_phase(monitors, phase) bind(c, name="Monitors_set_phase")
            import :: c_ptr, c_int
            type(c_ptr), value :: monitors
            integer(c_int), value :: phase
        end subroutine

        function Monitors_count(monitors, monitor) bind(c, name="Monitors_count") result(count)
            import :: c_ptr, c_int
            type(c_ptr), value :: monitors
            integer(c_int), value :: monitor
            integer(c_int) :: count
        end function

        function Monitors_value(monitors, monitor, object) bind(c, name="Monitors_value") result(number)
            import :: c_ptr, c_int, c_double
            type(c_ptr), value :: monitors
            integer(c_int), value :: monitor, object
            real(c_double) :: number
        end function
    end interface
end module
